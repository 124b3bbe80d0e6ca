//! Decimation of a picture's points and strokes to its pixel columns, with extremes kept.

/// Minimum height of marks that are not merged, pixels.
const SMALL: f64 = 5.0;

/// Points in order of `x`, at most four per pixel column: a column with more keeps first, lowest, highest and
/// last.
pub(crate) fn line(points: impl IntoIterator<Item = (f64, f64)>, column: f64) -> Vec<(f64, f64)> {
    let mut out = Vec::new();
    let mut bucket: Vec<(f64, f64)> = Vec::new();
    let mut current = f64::NEG_INFINITY;
    for (x, y) in points.into_iter().filter(|(x, y)| x.is_finite() && y.is_finite()) {
        let index = (x / column).floor();
        if index != current {
            flush(&mut bucket, &mut out);
            current = index;
        }
        bucket.push((x, y));
    }
    flush(&mut bucket, &mut out);
    out
}

fn flush(bucket: &mut Vec<(f64, f64)>, out: &mut Vec<(f64, f64)>) {
    if bucket.len() <= 4 {
        out.append(bucket);
        return;
    }
    let lowest = (0..bucket.len()).min_by(|&a, &b| bucket[a].1.total_cmp(&bucket[b].1)).unwrap_or(0);
    let highest = (0..bucket.len()).max_by(|&a, &b| bucket[a].1.total_cmp(&bucket[b].1)).unwrap_or(0);
    let mut keep = [0, lowest, highest, bucket.len() - 1];
    keep.sort_unstable();
    for (i, &index) in keep.iter().enumerate() {
        if i == 0 || index != keep[i - 1] {
            out.push(bucket[index]);
        }
    }
    bucket.clear();
}

/// Vertical strokes `(x, top, bottom)` in order of `x`, in pixels that grow downward. Strokes of one column
/// that touch and are too small to distinguish are merged, so that a dense column has few marks and gaps
/// remain visible.
pub(crate) fn strokes(marks: impl IntoIterator<Item = (f64, f64, f64)>, column: f64) -> Vec<(f64, f64, f64)> {
    let mut out: Vec<(f64, f64, f64)> = Vec::new();
    let mut current = f64::NEG_INFINITY;
    let mut start = 0;
    for (x, top, bottom) in marks {
        if !(x.is_finite() && top.is_finite() && bottom.is_finite()) {
            continue;
        }
        let index = (x / column).floor();
        if index != current {
            current = index;
            start = out.len();
        }
        let small = bottom - top < SMALL;
        let touches = |&(_, a, b): &(f64, f64, f64)| small && top <= b + column && bottom >= a - column;
        let touching = out[start..].iter().rposition(touches);
        match touching {
            Some(i) => {
                let old = &mut out[start + i];
                *old = (old.0, old.1.min(top), old.2.max(bottom));
            }
            None => out.push((x, top, bottom)),
        }
    }
    out
}

/// Single marks `(x, top, bottom)`, without those whose middle lies within `near` pixels of the previous mark
/// that was kept, which would cover it.
pub(crate) fn points(marks: impl IntoIterator<Item = (f64, f64, f64)>, near: f64) -> Vec<(f64, f64, f64)> {
    let mut out: Vec<(f64, f64, f64)> = Vec::new();
    for mark in marks.into_iter().filter(|m| m.0.is_finite() && m.1.is_finite() && m.2.is_finite()) {
        let middle = |m: &(f64, f64, f64)| f64::midpoint(m.1, m.2);
        let hides = |last: &(f64, f64, f64)| {
            (mark.0 - last.0).abs() < near && (middle(&mark) - middle(last)).abs() < near
        };
        if !out.last().is_some_and(hides) {
            out.push(mark);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_its_extremes() {
        let points =
            (0..10_000).map(|i| (f64::from(i) / 100.0, if i == 5_555 { 99.0 } else { f64::from(i % 7) }));
        let thin = line(points, 1.0);
        assert!(thin.len() <= 400, "{}", thin.len());
        assert!(thin.contains(&(55.55, 99.0)));
        assert!(thin.is_sorted_by(|a, b| a.0 <= b.0));
    }

    #[test]
    fn a_sparse_line_is_untouched() {
        let points = vec![(0.0, 1.0), (5.0, 2.0), (5.1, 7.0)];
        assert_eq!(line(points.clone(), 1.0), points);
    }

    #[test]
    fn strokes_merge_but_gaps_stay() {
        let thin = strokes([(0.1, 10.0, 12.0), (0.2, 12.0, 14.0), (0.3, 50.0, 52.0), (1.2, 14.0, 16.0)], 1.0);
        assert_eq!(thin, vec![(0.1, 10.0, 14.0), (0.3, 50.0, 52.0), (1.2, 14.0, 16.0)]);
    }

    #[test]
    fn points_under_points_are_left_out() {
        let thin = points([(1.0, 0.0, 4.0), (1.5, 1.0, 5.0), (1.5, 5.0, 9.0), (9.0, 5.0, 9.0)], 3.0);
        assert_eq!(thin, vec![(1.0, 0.0, 4.0), (1.5, 5.0, 9.0), (9.0, 5.0, 9.0)]);
    }

    #[test]
    fn marks_that_are_no_numbers_are_left_out() {
        assert!(strokes([(f64::NAN, 1.0, 2.0)], 1.0).is_empty());
        assert!(line([(1.0, f64::NAN)], 1.0).is_empty());
    }
}
