//! Tests of the whole program, in one binary.

mod harness;
mod journeys;
mod layers;
