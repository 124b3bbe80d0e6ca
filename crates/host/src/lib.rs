//! Where path and transport meet: the element that holds an endpoint.
