//! OpenACC.
