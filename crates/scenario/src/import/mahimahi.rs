//! Import of nested mahimahi shells; the outermost is nearest to the network. `mm-link UP DOWN` takes the uplink
//! trace first.

use super::ImportError;
use super::draft::{DIRECTIONS, Draft, Hop};
use super::words::{lines, shown, split};

/// Bytes per opportunity of a trace: an MTU of 1500 and the 4-byte header of a TUN device.
const OPPORTUNITY: u32 = 1504;

/// Reads command lines; each line is a shell nested in the shell of the line before.
pub(super) fn read(text: &str) -> Result<Draft, ImportError> {
    let mut draft = Draft::default();
    let mut words = Vec::new();
    for line in lines(text) {
        words.extend(split(&line)?);
    }
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        let name = word.rsplit('/').next().unwrap_or(word);
        let mut next = |what: &str| match words.next() {
            Some(word) => Ok(word.to_owned()),
            None => Err(ImportError::new(format!("`{name}` lacks {what}"), "see its man page")),
        };
        let hop = |kind: &str, draft: &Draft| {
            let same = draft.hops.iter().filter(|h| h.name.starts_with(kind)).count();
            Hop { name: format!("{kind}{}", same + 1), ..Hop::default() }
        };
        match name {
            "sudo" | "--" => {}
            "mm-delay" => {
                let ms = number(&next("its milliseconds")?, "milliseconds")?;
                let value = Some(format!("\"{ms} ms\""));
                draft.hops.push(Hop { delay: [value.clone(), value], ..hop("delay", &draft) });
                draft.exactly.push(format!("mm-delay {ms}: {ms} ms each way"));
            }
            "mm-loss" => {
                let direction = direction(&next("`uplink` or `downlink`")?)?;
                let share = number(&next("its rate")?, "a share from 0 to 1")?;
                if share > 1.0 {
                    return Err(ImportError::new(
                        format!("`{share}` is not a share from 0 to 1"),
                        "0.01 is one in a hundred",
                    ));
                }
                let mut hop = hop("loss", &draft);
                let way = DIRECTIONS[direction];
                hop.faults.push(format!(
                    "[[hop.loss]]\nname = \"loss\"\ndirections = \"{way}\"\nprobability = {share}\n"
                ));
                draft.hops.push(hop);
                draft.exactly.push(format!("mm-loss: {share} of the packets {way}, each by itself"));
            }
            "mm-onoff" => {
                let direction = direction(&next("`uplink` or `downlink`")?)?;
                let on = number(&next("how long it is on")?, "seconds")?;
                let off = number(&next("how long it is off")?, "seconds")?;
                if on <= 0.0 || off <= 0.0 {
                    let message = "the times of mm-onoff are more than 0";
                    return Err(ImportError::new(message, "give mean seconds"));
                }
                let mut hop = hop("onoff", &draft);
                hop.faults.push(gate(DIRECTIONS[direction], on, off));
                draft.hops.push(hop);
                draft
                    .roughly
                    .push("mm-onoff: times drawn from exponential distributions; here it begins on".into());
            }
            "mm-link" => {
                let (up, down) = (next("its trace of the uplink")?, next("its trace of the downlink")?);
                let mut hop = hop("link", &draft);
                for (direction, file) in [down, up].into_iter().enumerate() {
                    let quoted = quoted(&file)?;
                    hop.rate[direction] =
                        Some(format!("{{ trace = {quoted}, opportunity = \"{OPPORTUNITY} B\" }}"));
                    draft.files.push(file);
                }
                draft.roughly.push(
                    "mm-link: each opportunity is served evenly over the millisecond before it; an opportunity \
                     without a waiting packet is lost in both".into(),
                );
                let mut queues: [(String, String); 2] = Default::default();
                while let Some(option) = words.next_if(|word| word.starts_with("--") && *word != "--") {
                    link_option(option, &mut words, &mut queues, &mut draft)?;
                }
                for (direction, (kind, args)) in queues.iter().enumerate() {
                    hop.queue[direction] = queue(kind, args, DIRECTIONS[direction], &mut draft)?;
                }
                draft.hops.push(hop);
            }
            "mm-meter" => {
                while words.next_if(|word| word.starts_with("--") && *word != "--").is_some() {}
                draft.left_out.push("mm-meter: it only shows".into());
            }
            other if other.starts_with("mm-") => {
                let message = format!("`{}` is not understood", shown(other));
                let known = "mm-delay, mm-link, mm-loss, mm-onoff and mm-meter are";
                return Err(ImportError::new(message, known));
            }
            other if draft.hops.is_empty() => {
                let message = format!("`{}` is not a shell of mahimahi", shown(other));
                return Err(ImportError::new(message, "write mm-delay 50 mm-link up.trace down.trace"));
            }
            other => {
                draft.left_out.push(format!("the command `{}`: give the flow its workload", shown(other)));
                break;
            }
        }
    }
    Ok(draft)
}

/// Gate that drops packets in off times, with exponential times around these means in seconds.
fn gate(way: &str, on: f64, off: f64) -> String {
    format!(
        "[[hop.gate]]\nname = \"off\"\ndirections = \"{way}\"\nmode = \"drop\"\nevery = \"exponential({on} s)\"\nfrom = \"end\"\nlasts = \"exponential({off} s)\"\n"
    )
}

/// Largest number in a command line: 11 days in milliseconds, 31 years in seconds, 1 GB.
const LARGEST: f64 = 1e9;

fn number(word: &str, what: &str) -> Result<f64, ImportError> {
    let number = word.parse::<f64>().ok().filter(|x| *x >= 0.0 && !word.starts_with('+'));
    let number = number.ok_or_else(|| {
        ImportError::new(format!("`{}` is not a number of {what}", shown(word)), format!("give {what}"))
    })?;
    if number > LARGEST {
        return Err(ImportError::new(
            format!("`{}` is too large: at most {LARGEST} here", shown(word)),
            format!("give {what}"),
        ));
    }
    Ok(number)
}

fn direction(word: &str) -> Result<usize, ImportError> {
    match word {
        "downlink" => Ok(0),
        "uplink" => Ok(1),
        other => Err(ImportError::new(
            format!("`{}` is no direction", shown(other)),
            "there is `uplink` and `downlink`",
        )),
    }
}

/// A file name as a TOML string.
fn quoted(file: &str) -> Result<String, ImportError> {
    if file.is_empty() || file.chars().any(|c| c.is_control()) {
        return Err(ImportError::new(
            "the name of a trace is empty or holds control characters",
            "give its path",
        ));
    }
    Ok(format!("\"{}\"", file.replace('\\', "\\\\").replace('"', "\\\"")))
}

fn link_option<'a>(
    option: &str,
    words: &mut impl Iterator<Item = &'a str>,
    queues: &mut [(String, String); 2],
    draft: &mut Draft,
) -> Result<(), ImportError> {
    let (key, given) = match option.split_once('=') {
        Some((key, value)) => (key, Some(value.to_owned())),
        None => (option, None),
    };
    let direction = usize::from(key.starts_with("--uplink-"));
    match key {
        "--uplink-queue" | "--downlink-queue" | "--uplink-queue-args" | "--downlink-queue-args" => {
            let value = match given {
                Some(value) => value,
                None => words.next().unwrap_or_default().to_owned(),
            };
            let slot = &mut queues[direction];
            *(if key.ends_with("args") { &mut slot.1 } else { &mut slot.0 }) = value;
        }
        "--uplink-log" | "--downlink-log" => {
            if given.is_none() {
                words.next();
            }
            draft.left_out.push("logs of mm-link: `run --report` draws pictures".into());
        }
        "--once" => draft.left_out.push("--once: the traces are repeated from their ends".into()),
        _ if key.starts_with("--meter") => draft.left_out.push(format!("{}: it only shows", shown(key))),
        _ => {
            let message = format!("`{}` is not an option of mm-link", shown(option));
            return Err(ImportError::new(
                message,
                "its options are --uplink-queue, --uplink-queue-args, --once, --meter-all and those of the downlink",
            ));
        }
    }
    Ok(())
}

fn queue(kind: &str, args: &str, way: &str, draft: &mut Draft) -> Result<Option<String>, ImportError> {
    let mut limits = Vec::new();
    for part in args.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let read =
            part.split_once('=').and_then(|(key, n)| Some((key.trim(), n.trim().parse::<u64>().ok()?)));
        match read {
            Some((_, n)) if n as f64 > LARGEST => {
                let message = format!("`{}` is too large: at most {LARGEST} here", shown(part));
                return Err(ImportError::new(message, "write packets=100 or bytes=150000"));
            }
            Some(("packets", n)) if n > 0 => limits.push(format!("{n} packets")),
            Some(("bytes", n)) if n > 0 => limits.push(format!("{n} B")),
            Some((key, _)) if !matches!(key, "packets" | "bytes") => {
                draft.left_out.push(format!("{way}: {} of the queue", shown(key)));
            }
            _ => {
                let message = format!("`{}` is not an argument of a queue", shown(part));
                return Err(ImportError::new(message, "write packets=100 or bytes=150000"));
            }
        }
    }
    limits.sort();
    limits.dedup();
    if limits.len() > 2 || (limits.len() == 2 && limits[0].ends_with('B') == limits[1].ends_with('B')) {
        return Err(ImportError::new(
            "the queue has the same limit twice",
            "give packets and bytes once each",
        ));
    }
    let word = match kind {
        "" | "infinite" => {
            draft.exactly.push(format!("{way}: a queue without limit"));
            return Ok(None);
        }
        "droptail" => "drop-tail",
        "drophead" => "drop-head",
        "codel" | "pie" => {
            draft.roughly.push(format!(
                "{way}: queue `{kind}`: only its limit; it has no active queue management here"
            ));
            "drop-tail"
        }
        other => {
            let message = format!("`{}` is not a queue of mm-link", shown(other));
            return Err(ImportError::new(message, "there is infinite, droptail, drophead, codel and pie"));
        }
    };
    if limits.is_empty() {
        return Err(ImportError::new(
            format!("the queue `{kind}` lacks its limit"),
            "add --uplink-queue-args=\"packets=100\"",
        ));
    }
    draft.exactly.push(format!("{way}: {word} queue of {}", limits.join(", ")));
    Ok(Some(format!("{{ {word} = {{ limit = \"{}\" }} }}", limits.join(", "))))
}
