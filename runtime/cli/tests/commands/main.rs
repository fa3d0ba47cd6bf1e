//! The command `hetmp` as users call it: a module for each of its commands, and `files` for what several of them read.

mod calibrate;
mod files;
mod goal;
mod info;
mod report;
mod run;
mod simulate;
mod which;
