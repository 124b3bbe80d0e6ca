# usage: ns tfrc.tcl kbps delay_ms queue size seconds loss [least timeout, s [seed]]
if {$argc > 7} {ns-random [lindex $argv 7]}
set ns [new Simulator]
set bw [lindex $argv 0]k; set d [lindex $argv 1]ms; set q [lindex $argv 2]; set size [lindex $argv 3]; set stop [lindex $argv 4]; set loss [lindex $argv 5]
set a [$ns node]; set b [$ns node]
$ns duplex-link $a $b $bw $d DropTail
$ns queue-limit $a $b $q
$ns queue-limit $b $a 1000
Agent/TFRC set packetSize_ $size
Agent/TFRC set SndrType_ 1
if {$argc > 6} {Agent/TFRC set minrto_ [lindex $argv 6]}
if {$loss > 0} {
 set em [new ErrorModel]; $em unit pkt; $em set rate_ $loss; $em ranvar [new RandomVariable/Uniform]; $em drop-target [new Agent/Null]; $ns lossmodel $em $a $b
}
set tf [new Agent/TFRC]; set sink [new Agent/TFRCSink]
$ns attach-agent $a $tf; $ns attach-agent $b $sink; $ns connect $tf $sink
set ftp [new Application/FTP]; $ftp attach-agent $tf
set f [open "|awk {BEGIN{n=0}/^r/&&/tcpFriend/&&!/tcpFriendCtl/{if(\$6>40)n++}END{print n}}" w]
$ns trace-queue $a $b $f
$ns at 0.0 "$ftp start"
$ns at $stop "close $f; exit 0"
$ns run
