// A download over a slow link with random losses: the study of docs/beside-ns3.md for ns-3.
// Prints the time at which the last byte arrived, in seconds from the start of the connection.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <iostream>

using namespace ns3;

static uint64_t g_received = 0;
static double g_last = 0;

static void
Received(Ptr<const Packet> packet, const Address&)
{
    g_received += packet->GetSize();
    g_last = Simulator::Now().GetSeconds();
}

int
main(int argc, char* argv[])
{
    uint64_t bytes = 102400;
    double loss = 0.01;
    CommandLine cmd(__FILE__);
    cmd.AddValue("bytes", "size of the download", bytes);
    cmd.AddValue("loss", "probability that a packet is lost", loss);
    cmd.Parse(argc, argv);

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(65535));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 20));

    NodeContainer nodes;
    nodes.Create(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("30kbps"));
    link.SetChannelAttribute("Delay", StringValue("300ms"));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("10p"));
    NetDeviceContainer devices = link.Install(nodes);
    Ptr<RateErrorModel> errors = CreateObject<RateErrorModel>();
    errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    errors->SetRate(loss);
    devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(errors));

    InternetStackHelper stack;
    stack.Install(nodes);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    // The queue is that of the device alone.
    TrafficControlHelper().Uninstall(devices);

    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 80));
    ApplicationContainer phone = sink.Install(nodes.Get(1));
    phone.Get(0)->TraceConnectWithoutContext("Rx", MakeCallback(&Received));
    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(1), 80));
    source.SetAttribute("MaxBytes", UintegerValue(bytes));
    source.SetAttribute("SendSize", UintegerValue(1448));
    source.Install(nodes.Get(0)).Start(Seconds(0));

    Simulator::Stop(Seconds(3600));
    Simulator::Run();
    Simulator::Destroy();
    if (g_received < bytes)
    {
        std::cout << "unfinished" << std::endl;
        return 1;
    }
    std::cout << g_last << std::endl;
    return 0;
}
