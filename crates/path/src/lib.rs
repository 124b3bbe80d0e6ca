//! What lies between two endpoints: the network, its clockless elements.
