//! In-memory files that random scenarios may name: traces, spikes, trigger logs and samples.

use scenario::Files;

/// Names of the files.
pub const NAMES: &[&str] =
    &["rate.csv", "opportunities.txt", "delay.csv", "spikes.csv", "triggers.csv", "values.txt"];

/// File system of the random scenarios.
#[derive(Clone, Copy, Debug)]
pub struct FixtureFiles;

impl Files for FixtureFiles {
    fn load(&self, path: &str) -> Result<Vec<u8>, String> {
        let text = match path {
            "rate.csv" => "t_s,bit_per_s\n0,64000\n3,8000\n5,0\n6,256000\n",
            "opportunities.txt" => "3\n7\n12\n20\n20\n31\n",
            "delay.csv" => "t_s,delay_s\n0,0.1\n1.5,0.4\n4,0.05\n",
            "spikes.csv" => "rep,start_s,length_s\n0,1,2\n0,6,0.5\n1,3,1\n",
            "triggers.csv" => "t_s,state\n1,m0.s1\n4,m0.s0\n",
            "values.txt" => "0.1\n0.2\n0.4\n1.6\n",
            _ => return Err(format!("`{path}` is none of the files beside a random scenario")),
        };
        Ok(text.into())
    }
}
