//! Small dense matrices.

/// The inverse; none if singular.
pub(crate) fn inverse(mut a: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let n = a.len();
    for (i, row) in a.iter_mut().enumerate() {
        row.extend((0..n).map(|j| f64::from(u8::from(i == j))));
    }
    for k in 0..n {
        let size = |i: &usize| a[*i][k].abs();
        let pivot = (k..n).max_by(|i, j| size(i).total_cmp(&size(j)))?;
        a.swap(k, pivot);
        let p = a[k][k];
        let scale = a[k].iter().take(n).fold(0.0, |m: f64, x| m.max(x.abs()));
        if !p.is_finite() || p == 0.0 || p.abs() < 1e-14 * scale {
            return None;
        }
        for x in &mut a[k] {
            *x /= p;
        }
        let row = a[k].clone();
        for (i, other) in a.iter_mut().enumerate() {
            let by = other[k];
            if i != k && by != 0.0 {
                for (x, y) in other.iter_mut().zip(&row) {
                    *x -= by * y;
                }
            }
        }
    }
    Some(a.into_iter().map(|row| row[n..].to_vec()).collect())
}

/// Makes rows with many columns into rows with as many columns as rows: lengths of rows, and of all
/// their sums and differences, stay as they are. Equal rows stay equal.
pub(crate) fn compress(rows: &mut [Vec<f64>]) {
    let width = rows.first().map_or(0, Vec::len);
    let mut from = 0;
    for i in 0..rows.len() {
        let norm = rows[i][from..].iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm == 0.0 || from + 1 >= width {
            continue;
        }
        // A reflection that leaves only one number in this row.
        let mut v = rows[i][from..].to_vec();
        v[0] += if v[0] < 0.0 { -norm } else { norm };
        let square: f64 = v.iter().map(|x| x * x).sum();
        if square == 0.0 {
            continue;
        }
        for row in rows.iter_mut().skip(i) {
            let dot: f64 = v.iter().zip(&row[from..]).map(|(a, b)| a * b).sum();
            for (x, y) in row[from..].iter_mut().zip(&v) {
                *x -= 2.0 * dot / square * y;
            }
        }
        for x in &mut rows[i][from + 1..] {
            *x = 0.0;
        }
        from += 1;
    }
}
