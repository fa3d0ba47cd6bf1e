//! Rules for the sources themselves: `cargo test -p hetmp-abi-compat --test rules lines` checks one. One program, since
//! linking each of them would take longer than running it.

mod choices;
mod circles;
mod dead;
mod dependencies;
mod forks;
mod lines;
mod orders;
