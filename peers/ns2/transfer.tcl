# One bulk transfer over a link that a handover suspends, repeated, on stock ns-2.35.
#
#   ns transfer.tcl [name=value ...] [CLASS.variable_=value ...]
#
# A name with a dot is a class variable of ns-2 without its leading "Agent/", set before any agent exists:
#   TCP.ts_resetRTO_=true   TCPSink/DelAck.interval_=200ms   TCP/Newreno.newreno_changes1_=1
# Standard output is CSV: rep,time_s,segments_sent,timeouts,drops
#   time_s         first SYN to the last cumulative ACK at the sender
#   segments_sent  data segments handed to the queue, retransmissions included, SYN excluded
#   timeouts       expiries of the retransmission timer (several in one spike when it backs off)
#   drops          data segments the bottleneck queue refused
# With trace=FILE the sender's side of every packet goes there as t,dir,seq at full precision:
#   s  data offered to the bottleneck queue    x  the same segment refused by it
#   a  cumulative ACK arriving at the sender   (segment 0 is the SYN, the data are 1..segments)

array set set_to {
    flavour sack     limit 100      segments 308   size 1000       window 20
    rate 30kb        delay 300ms    delack 1       timestamps 1    back 1000
    spikes ""        first 0        reps 1         trace ""        watch 1
    quiet 0          idle 60        give_up 4000   recycle 0
}
# limit    of the queue in the data direction, "back" in the ACK direction. A DropTail of limit n holds n - 1 packets and
#          the Delayer holds one even while open: n wait beside the one in transmission. limit=9 is "10 packets in all".
# spikes   file of rep,start_s,length_s; first and reps choose the repetitions
# idle     seconds between repetitions for stragglers to leave the link
# watch    0 spares the queue monitor (drops then reads 0); recycle 1 resets one pair of agents in place of
#          making a fresh one, which leaks state: both are for timing, never for results
set class_variables {}
foreach argument $argv {
    set equals [string first = $argument]
    set name [string range $argument 0 [expr {$equals - 1}]]
    set value [string range $argument [expr {$equals + 1}] end]
    if {$equals > 0 && [regexp {^(.+)\.(\w+)$} $name -> class variable]} {
        lappend class_variables Agent/$class $variable $value
    } elseif {$equals > 0 && [info exists set_to($name)]} {
        set set_to($name) $value
    } else {
        puts stderr "transfer.tcl: cannot use '$argument'; settings: [lsort [array names set_to]]"
        exit 2
    }
}
proc the name { return $::set_to($name) }

# The simulator as it was around 2001, when the studies were made: 2.35 keeps the old behaviour behind switches.
foreach {class variable value} {
    TCP          tcpTick_                 0.1
    TCP          rfc2988_                 false
    TCP          updated_rttvar_          false
    TCP          rtxcur_init_             6.0
    TCP          minrto_                  1
    TCP          maxrto_                  64
    TCP          bugFix_                  false
    TCP          singledup_               0
    TCP          precisionReduce_         false
    TCP          exitFastRetrans_         false
    TCP          bugfix_ss_               0
    TCP          SetCWRonRetransmit_      false
    TCP/Newreno  newreno_changes1_        0
    TCP/Newreno  partial_window_deflation_ 0
    TCPSink      ts_echo_bugfix_          false
    TCPSink      RFC2581_immediate_ack_   true
    TCPSink      SYN_immediate_ack_       false
    TCP          useHeaders_              true
} { Agent/$class set $variable $value }
# In that order: the clock of the timers ticks every 0.1 s (0.01 since March 2002); the timer is not yet RFC 2988's, its
# variance, first value and bounds are the old ones; without the bug fix duplicate ACKs after a timeout may start a fast
# retransmit; no limited transmit (on since November 2001); halving rounds down to whole segments; Reno and NewReno go on
# inflating the window in recovery; the second half of the bug fix (a loss of the first window) is off; no CWR mark on a
# retransmission (of no account without ECN); NewReno is the plain one, the window not deflated by partial ACKs and the
# timer restarted by each of them; the receiver echoes the timestamp of the segment that makes it send the ACK, does not
# delay ACKs while it fills a gap, and may delay the SYN's. The last row is younger than its era: without it (the
# default until November 2001) a 1000 B segment is 1000 B on the wire and the published times do not come out; with it
# it is 1000 + 40 + 10 for the timestamp. The SYN and every ACK are 40, an ACK 8 more for each SACK block.
#
# ssthresh starts from the CLASS value of window_ at the birth of an agent; on the object it is too late.
Agent/TCP set window_ [the window]
foreach {class variable value} $class_variables { $class set $variable $value }

array set sender_of   {tahoe TCP reno TCP/Reno newreno TCP/Newreno sack TCP/Sack1 fack TCP/Fack}
array set receiver_of {tahoe TCPSink reno TCPSink newreno TCPSink sack TCPSink/Sack1 fack TCPSink/Sack1}
if {![info exists sender_of([the flavour])]} {
    puts stderr "transfer.tcl: flavour is one of [lsort [array names sender_of]]"
    exit 2
}
set sender_class Agent/$sender_of([the flavour])
set receiver_class Agent/$receiver_of([the flavour])
if {[the delack]} { append receiver_class /DelAck }

if {[the spikes] ne ""} {
    set in [open [the spikes]]
    while {[gets $in line] >= 0} {
        if {[string match {[0-9]*} $line]} {
            set fields [split $line ,]
            lappend weather([lindex $fields 0]) [lindex $fields 1] [lindex $fields 2]
        }
    }
    close $in
}

set sim [new Simulator]
set fixed [$sim node]
set mobile [$sim node]
$sim duplex-link $fixed $mobile [the rate] [the delay] DropTail
$sim queue-limit $fixed $mobile [the limit]
$sim queue-limit $mobile $fixed [the back]

if {[the trace] ne ""} {
    # trace files stop at microseconds; the trace objects also call back, and then the clock can be asked
    set record [open [the trace] w]
    puts $record "t,dir,seq"
    set nowhere [open /dev/null w]
    $sim trace-queue $fixed $mobile $nowhere
    $sim trace-queue $mobile $fixed $nowhere
    proc record {letter kind line} {
        if {[lindex $line 4] eq $kind} {
            puts $::record [format "%.9f,%s,%d" [expr {[$::sim now] - $::begun}] $letter [lindex $line 10]]
        }
    }
    foreach {from to part letter kind} [list $fixed $mobile enqT_ s tcp  $fixed $mobile drpT_ x tcp  $mobile $fixed rcvT_ a ack] {
        set point [[$sim link $from $to] set $part]
        $point set callback_ 1
        $point proc handle {line} [list record $letter $kind]\ \$line
    }
}
set monitor ""
if {[the watch]} { set monitor [$sim monitor-queue $fixed $mobile ""] }
proc drops {} { return [expr {$::monitor eq "" ? 0 : [$::monitor set pdrops_]}] }

set gates [list [new Delayer] [new Delayer]]
$sim insert-delayer $fixed $mobile [lindex $gates 0]
$sim insert-delayer $mobile $fixed [lindex $gates 1]
proc gates {order} { foreach gate $::gates { $gate $order } }

# One spike at a time is on the calendar, so that a finished repetition leaves at most one, and that one looks at `era`.
proc next_spike {era} {
    global ahead sim begun
    if {$era != $::era || [llength $ahead] == 0} return
    foreach {start length} $ahead break
    set ahead [lrange $ahead 2 end]
    $sim at [expr {$begun + $start}] "if {$era == \$era} { gates block }"
    $sim at [expr {$begun + $start + $length}] "if {$era == \$era} { gates unblock; next_spike $era }"
}

set era 0
set rep [the first]
proc begin {} {
    global sim rep era tcp sink begun ahead drops_before
    incr era
    set begun [$sim now]
    set drops_before [drops]
    if {![the recycle] || $era == 1} {
        set tcp [new $::sender_class]
        set sink [new $::receiver_class]
        $tcp set packetSize_ [the size]
        $tcp set window_ [the window]
        $tcp set timestamps_ [the timestamps]
        $sim attach-agent $::fixed $tcp
        $sim attach-agent $::mobile $sink
        $sim connect $tcp $sink
    } else {
        $tcp reset
        $sink reset
    }
    $tcp proc done {} [list finish $era]
    set ahead [expr {[info exists ::weather($rep)] ? $::weather($rep) : {}}]
    next_spike $era
    $sim at [expr {$begun + [the give_up]}] [list unfinished $era]
    $tcp advance [the segments]
}
proc unfinished {which} {
    if {$which != $::era} return
    puts stderr "transfer.tcl: repetition $::rep is not over after [the give_up] s"
    exit 1
}
proc finish {which} {
    global sim rep era tcp begun
    if {$which != $era} return
    incr era
    if {![the quiet]} {
        puts [format "%d,%.9f,%d,%d,%d" $rep [expr {[$sim now] - $begun}] \
            [expr {[$tcp set ndatapack_] - 1}] [$tcp set nrexmit_] [expr {[drops] - $::drops_before}]]
    }
    incr rep
    if {$rep >= [the first] + [the reps]} {
        if {[info exists ::record]} { close $::record }
        flush stdout
        exit 0
    }
    $sim at [$sim now] "gates unblock"
    $sim at [expr {[$sim now] + [the idle]}] begin
}
if {![the quiet]} { puts "rep,time_s,segments_sent,timeouts,drops" }
$sim at 0.0 begin
$sim run
