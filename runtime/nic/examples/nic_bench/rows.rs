//! Rows measured in turns, and how they are shown.

/// Samples of the rows of one table, a sample a round.
pub(crate) struct Rounds {
    title: String,
    unit: &'static str,
    rows: Vec<(String, Vec<f64>)>,
}

#[derive(Default)]
pub(crate) struct Report {
    tables: Vec<Rounds>,
}

pub(crate) fn median(values: &[f64]) -> f64 {
    let mut v = values.to_vec();
    v.sort_by(f64::total_cmp);
    match v.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => v[n / 2],
        n => (v[n / 2 - 1] + v[n / 2]) / 2.0,
    }
}

impl Rounds {
    pub(crate) fn new(title: &str, unit: &'static str) -> Rounds {
        Rounds {
            title: title.into(),
            unit,
            rows: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, row: &str, value: f64) {
        match self.rows.iter_mut().find(|(name, _)| name == row) {
            Some((_, values)) => values.push(value),
            None => self.rows.push((row.into(), vec![value])),
        }
    }

    /// Leaves a row out.
    pub(crate) fn remove(&mut self, row: &str) {
        self.rows.retain(|(name, _)| name != row);
    }

    fn values(&self, row: &str) -> &[f64] {
        self.rows
            .iter()
            .find(|(name, _)| name == row)
            .map_or(&[], |(_, v)| v)
    }

    /// A row of the ratios of two others, round by round; none if one of them is not there.
    pub(crate) fn ratio(&mut self, name: &str, of: &str, to: &str) {
        if self.values(of).is_empty() || self.values(to).is_empty() {
            return;
        }
        let ratios = self
            .values(of)
            .iter()
            .zip(self.values(to))
            .map(|(a, b)| a / b)
            .collect();
        self.rows.push((name.into(), ratios));
    }

    fn show(&self) {
        println!("## {}\n", self.title);
        println!("| row | {} | least | most |", self.unit);
        println!("| --- | ---: | ---: | ---: |");
        for (name, values) in &self.rows {
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(0.0, f64::max);
            let n = |v: f64| {
                if v >= 1000.0 {
                    format!("{v:.0}")
                } else if v >= 10.0 {
                    format!("{v:.1}")
                } else {
                    format!("{v:.2}")
                }
            };
            println!(
                "| {name} | {} | {} | {} |",
                n(median(values)),
                n(least),
                n(most)
            );
        }
        println!();
    }
}

impl Report {
    pub(crate) fn table(&mut self, table: Rounds) {
        table.show();
        self.tables.push(table);
    }

    /// Names hold no character that JSON escapes.
    pub(crate) fn json(&self) -> String {
        let mut out = String::from("{\"tables\":[");
        for (i, t) in self.tables.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            out += &format!(
                "{comma}\n{{\"title\":\"{}\",\"unit\":\"{}\",\"rows\":[",
                t.title, t.unit
            );
            for (j, (name, values)) in t.rows.iter().enumerate() {
                let comma = if j == 0 { "" } else { "," };
                let list: Vec<String> = values.iter().map(|v| format!("{v:.3}")).collect();
                out += &format!(
                    "{comma}\n {{\"row\":\"{name}\",\"median\":{:.3},\"rounds\":[{}]}}",
                    median(values),
                    list.join(",")
                );
            }
            out += "]}";
        }
        out + "\n]}\n"
    }
}
