# Many long SACK flows over one bottleneck, with ns-2.35's own defaults: the case for speed.
#
#   ns dumbbell.tcl [name=value ...]
#
#   sender i --- access, 1.0 + 0.1 i ms --- left === bottleneck === right --- access, 1 ms --- receiver i
#
# Flow i starts at 0.01 i s and never ends. Prints what was done as name=value on one line:
#   data      segments sent, retransmissions included, SYN excluded     acks    ACKs that reached the senders
#   payload   bytes delivered in order, without headers                 resent  segments sent again
#   drops     segments the bottleneck refused (needs watch=1, which costs time)
array set set_to {
    flows 50   until 60   rate 100Mb   delay 20ms   access 1000Mb   access_delay 1ms
    queue 500  access_queue 1000   window 200   size 1000   watch 0
}
foreach argument $argv {
    if {![regexp {^(\w+)=(.*)$} $argument -> name value] || ![info exists set_to($name)]} {
        puts stderr "dumbbell.tcl: cannot use '$argument'; settings: [lsort [array names set_to]]"
        exit 2
    }
    set set_to($name) $value
}
proc the name { return $::set_to($name) }

Agent/TCP set window_ [the window]
Agent/TCP set packetSize_ [the size]

set sim [new Simulator]
proc join_nodes {one other rate delay limit} {
    $::sim duplex-link $one $other $rate $delay DropTail
    $::sim queue-limit $one $other $limit
    $::sim queue-limit $other $one $limit
}
set left [$sim node]
set right [$sim node]
join_nodes $left $right [the rate] [the delay] [the queue]
if {[the watch]} { set monitor [$sim monitor-queue $left $right ""] }

for {set i 0} {$i < [the flows]} {incr i} {
    set from [$sim node]
    set to [$sim node]
    join_nodes $from $left [the access] [format "%.1fms" [expr {1.0 + 0.1 * $i}]] [the access_queue]
    join_nodes $right $to [the access] [the access_delay] [the access_queue]
    set sender [new Agent/TCP/Sack1]
    set receiver [new Agent/TCPSink/Sack1/DelAck]
    $sim attach-agent $from $sender
    $sim attach-agent $to $receiver
    $sim connect $sender $receiver
    set source [new Application/FTP]
    $source attach-agent $sender
    $sim at [expr {0.01 * $i}] [list $source start]
    lappend pairs $sender $receiver
}

proc report {} {
    foreach total {data acks payload resent} { set $total 0 }
    # a receiver counts whole packets: the 40 B SYN and 40 B of headers on every segment
    set wire [expr {[the size] + 40}]
    foreach {sender receiver} $::pairs {
        incr data [$sender set ndatapack_]
        if {[$sender set ndatapack_] > 0} { incr data -1 }
        incr acks [$sender set nackpack_]
        incr resent [$sender set nrexmitpack_]
        if {[$receiver set bytes_] > 40} {
            incr payload [expr {int(([$receiver set bytes_] - 40) / $wire) * [the size]}]
        }
    }
    set drops [expr {[the watch] ? [$::monitor set pdrops_] : "unwatched"}]
    puts "data=$data acks=$acks payload=$payload resent=$resent drops=$drops"
    exit 0
}
$sim at [the until] report
$sim run
