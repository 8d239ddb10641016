//! Quantiles and tails against tables made elsewhere (`data/make.py`: mpmath with 50 digits).

use stats::{normal_quantile, normal_upper_tail, t_quantile, t_upper_quantile, t_upper_tail};

fn rows(text: &str) -> Vec<Vec<f64>> {
    text.lines()
        .skip(1)
        .map(|line| line.split(',').map(|cell| cell.parse().expect("a number")).collect())
        .collect()
}

fn close(found: f64, wanted: f64, relative: f64, what: &[f64]) {
    assert!(
        (found / wanted - 1.0).abs() < relative,
        "{what:?}: {found} instead of {wanted}"
    );
}

#[test]
fn t_quantiles() {
    let table = rows(include_str!("data/t_upper_quantiles.csv"));
    assert_eq!(table.len(), 192);
    for row in table {
        let [df, q, t] = row[..] else { panic!("three columns") };
        close(t_upper_quantile(q, df), t, 1e-10, &row);
        close(t_quantile(q, df), -t, 1e-10, &row);
        assert_eq!(
            t_upper_quantile(1.0 - (1.0 - q), df),
            t_quantile(1.0 - q, df),
            "{row:?}"
        );
    }
}

#[test]
fn t_tails() {
    let table = rows(include_str!("data/t_tails.csv"));
    assert_eq!(table.len(), 108);
    for row in table.iter().filter(|row| row[2] > 1e-250) {
        let [df, t, tail] = row[..] else {
            panic!("three columns")
        };
        close(t_upper_tail(t, df), tail, 1e-10, row);
    }
}

#[test]
fn normal_quantiles() {
    for row in rows(include_str!("data/normal_quantiles.csv")) {
        let [q, z] = row[..] else { panic!("two columns") };
        close(normal_quantile(q), -z, 1e-12, &row);
        close(normal_upper_tail(z), q, 1e-11, &row);
    }
}
