//! The thread streaming protocol: watching, steering and rewinding a thread over one connection.

mod wire;
