//! Average of the temperatures on standard input, one a line.
use std::io::{self, BufRead};

#[derive(Default)]
struct Station {
    degrees: Vec<f64>,
}

impl Station {
    fn mean(&self) -> Option<f64> {
        (!self.degrees.is_empty()).then(|| self.degrees.iter().sum::<f64>() / self.degrees.len() as f64)
    }
}

fn main() {
    let degrees = io::stdin().lock().lines().filter_map(|line| line.ok()?.trim().parse().ok()).collect();
    let station = Station { degrees };
    println!("mean of {} readings: {:?}", station.degrees.len(), station.mean());
}
