//! Builder of the scenario text of a bulk download in tests: one hop from `server` to `phone`, one flow over
//! it.

use std::fmt::Write as _;

/// A hop `radio` and a bulk flow `download` over it, by default TCP with 100 kB. Values are written as TOML; other unset
/// ones are omitted, so that the scenario's own default holds.
#[derive(Clone, Debug)]
pub struct Download {
    hop: String,
    faults: String,
    transport: String,
    bulk: String,
    more: String,
    run: String,
}

impl Download {
    /// A download over a hop of this rate and one-way delay.
    pub fn over(rate: &str, delay: &str) -> Download {
        Download::at(rate).delay(delay)
    }

    /// A download over a hop of this rate.
    pub fn at(rate: &str) -> Download {
        Download {
            hop: format!("rate = \"{rate}\"\n"),
            faults: String::new(),
            transport: "\"tcp\"".to_owned(),
            bulk: "bytes = \"100 kB\"".to_owned(),
            more: String::new(),
            run: String::new(),
        }
    }

    /// One-way delay of the hop.
    pub fn delay(mut self, delay: &str) -> Download {
        let _ = writeln!(self.hop, "delay = \"{delay}\"");
        self
    }

    /// A drop-tail queue with room for this number of packets.
    pub fn drop_tail(mut self, packets: u32) -> Download {
        let _ = writeln!(self.hop, "queue = {{ drop-tail = {{ limit = \"{packets} packets\" }} }}");
        self
    }

    /// A queue without a limit.
    pub fn unlimited(mut self) -> Download {
        self.hop += "queue = \"unlimited\"\n";
        self
    }

    /// Further keys or tables of the hop, such as `[[hop.gate]]`.
    pub fn faults(mut self, text: &str) -> Download {
        self.faults += text;
        self.faults += "\n";
        self
    }

    /// A gate that closes for each `[start, length]` of the list `spikes`.
    pub fn spikes(self, gate: &str, spikes: &str) -> Download {
        self.faults(&format!("[[hop.gate]]\nname = \"{gate}\"\nspikes = {spikes}"))
    }

    /// Transport of the flow, as a TOML value.
    pub fn transport(mut self, value: &str) -> Download {
        value.clone_into(&mut self.transport);
        self
    }

    /// TCP with these options: the text inside the braces of `{ tcp = { ... } }`.
    pub fn tcp(self, options: &str) -> Download {
        self.transport(&format!("{{ tcp = {{ {options} }} }}"))
    }

    /// Number of bytes to transfer.
    pub fn bytes(mut self, bytes: &str) -> Download {
        self.bulk = format!("bytes = \"{bytes}\"");
        self
    }

    /// A further option of the bulk application, as `key = value`.
    pub fn bulk(mut self, option: &str) -> Download {
        if !option.is_empty() {
            let _ = write!(self.bulk, ", {option}");
        }
        self
    }

    /// Another bulk download over the hop, with the flow's transport.
    pub fn and(mut self, name: &str, start: &str, bytes: &str) -> Download {
        let transport = &self.transport;
        self.more = format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"server\"\nto = \"phone\"\nstart = \"{start}\"\n\
             transport = {transport}\napp = {{ bulk = {{ bytes = \"{bytes}\" }} }}\n"
        );
        self
    }

    /// Limit of a repetition.
    pub fn limit(self, limit: &str) -> Download {
        self.run(&format!("limit = \"{limit}\""))
    }

    /// A further key of `[run]`.
    pub fn run(mut self, line: &str) -> Download {
        self.run += line;
        self.run += "\n";
        self
    }

    /// Text of the scenario file.
    pub fn text(&self) -> String {
        let Download { hop, faults, transport, bulk, more, run } = self;
        let run = if run.is_empty() { String::new() } else { format!("[run]\n{run}") };
        format!(
            "williwaw = 1\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]\n{hop}{faults}\
             [[flow]]\nname = \"download\"\nfrom = \"server\"\nto = \"phone\"\ntransport = {transport}\n\
             app = {{ bulk = {{ {bulk} }} }}\n{more}{run}"
        )
    }
}
