# Bulk data over SCTP with one delay spike before the queue, on stock ns-2.35: the setting of the study of 2003.
#
#   ns sctp.tcl [name=value ...]
#
# Standard output is CSV, one row for each DATA packet that the sender hands to its link, retransmissions included: t,tsn
# A last line "# delivered N" says how many chunks the receiver has without a gap at the end.

array set set_to { rate 9.05kb window 60 queue 100000 delay 1.4 payload 536 spike 28.0 lasts 12.0 end 150 heartbeat 0 }
# window   of the receiver, and the first slow-start threshold, in chunks
# queue    packets of data that may wait beside the one in transmission (the limit of a DropTail is one more)
# payload  user data of a chunk: ns-2 counts its header of 16 B in windows, the packet has 32 B more
# heartbeat seconds between those of an idle end; 30 is the default of ns-2, whose answers take places in the queue of the data
foreach argument $argv {
    set equals [string first = $argument]
    set name [string range $argument 0 [expr {$equals - 1}]]
    if {$equals < 1 || ![info exists set_to($name)]} {
        puts stderr "sctp.tcl: cannot use '$argument'; settings: [lsort [array names set_to]]"
        exit 2
    }
    set set_to($name) [string range $argument [expr {$equals + 1}] end]
}
proc the name { return $::set_to($name) }

Trace set show_sctphdr_ 1
set sim [new Simulator]
set server [$sim node]
set router [$sim node]
set phone [$sim node]
# Between server and router nothing takes time: the gate there holds packets before they reach the queue.
$sim duplex-link $server $router 1000Gb 0 DropTail
$sim duplex-link $router $phone [the rate] [the delay]s DropTail
$sim queue-limit $router $phone [expr {[the queue] + 1}]
foreach {from to} [list $server $router  $router $server  $phone $router] { $sim queue-limit $from $to 100000 }

set nowhere [open /dev/null w]
$sim trace-queue $server $router $nowhere
$sim trace-queue $router $phone $nowhere
array set held {}
set next 1
proc sent {line} {
    if {[string match *D* [lindex $line 6]]} {
        puts [format "%.6f,%d" [$::sim now] [lindex $line 11]]
    }
}
proc arrived {line} {
    if {[string match *D* [lindex $line 6]]} {
        set ::held([lindex $line 11]) 1
        while {[info exists ::held($::next)]} { incr ::next }
    }
}
set gate [new Delayer]
$sim insert-delayer $server $router $gate
foreach {from to part what} [list $server $router enqT_ sent  $router $phone rcvT_ arrived] {
    set point [[$sim link $from $to] set $part]
    $point set callback_ 1
    $point proc handle {line} "$what \$line"
}

set chunk [expr {[the payload] + 16}]
foreach end {sender receiver} {
    set $end [new Agent/SCTP]
    [set $end] set mtu_ [expr {$chunk + 32}]
    [set $end] set dataChunkSize_ $chunk
    [set $end] set initialRwnd_ [expr {[the window] * $chunk}]
    [set $end] set initialSsthresh_ [expr {[the window] * $chunk}]
    [set $end] set useDelayedSacks_ 0
    [set $end] set heartbeatInterval_ [the heartbeat]
}
$sim attach-agent $server $sender
$sim attach-agent $phone $receiver
$sim connect $sender $receiver
set ftp [new Application/FTP]
$ftp attach-agent $sender
puts "t,tsn"
$sim at 0.0 "$ftp start"
$sim at [the spike] "$gate block"
$sim at [expr {[the spike] + [the lasts]}] "$gate unblock"
$sim at [the end] {
    puts "# delivered [expr {$next - 1}]"
    exit 0
}
$sim run
