//! Scenario text of flows between `server` and `phone` over one hop `radio`.

/// A scenario of one hop `radio` with these keys and tables, these flows, and a limit of the repetition.
pub fn over_radio(hop: &str, flows: &str, limit: &str) -> String {
    format!(
        "williwaw = 1\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]\n{hop}\n{flows}\n\
         [run]\nlimit = \"{limit}\"\n"
    )
}

/// A flow; `transport` and `app` are TOML values.
pub fn flow(name: &str, from: &str, to: &str, transport: &str, app: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
         transport = {transport}\napp = {app}\n"
    )
}

/// A bulk transfer of this many bytes by TCP.
pub fn bulk(name: &str, from: &str, to: &str, bytes: &str) -> String {
    flow(name, from, to, "\"tcp\"", &format!("{{ bulk = {{ bytes = \"{bytes}\" }} }}"))
}
