//! Suggestions for misspelt names.

/// The candidate closest to `name`, if it is close enough to be meant: within a third of the letters, or two.
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    // Text much longer than any key was not meant as one.
    if name.len() > 64 {
        return None;
    }
    let plain = |text: &str| text.to_lowercase().replace('_', "-");
    candidates
        .into_iter()
        .map(|candidate| (distance(&plain(name), &plain(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= (candidate.chars().count() / 3).max(2))
        .filter(|(distance, candidate)| *distance < candidate.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many letters must be inserted, deleted, changed, or swapped with their neighbours (Damerau 1964, as optimal
/// string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let above = &rows[i - 1];
            let changed = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = changed.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_misspellings_but_not_other_words() {
        let keys = ["delay", "rate", "queue", "reorder-by", "call-size"];
        let meant = |name| nearest(name, keys);
        assert_eq!(meant("dealy"), Some("delay"));
        assert_eq!(meant("delays"), Some("delay"));
        assert_eq!(meant("Reorder_By"), Some("reorder-by"));
        assert_eq!(meant("bandwidth"), None);
        assert_eq!(meant(""), None);
        assert_eq!(meant(&"q".repeat(10_000)), None);
    }

    #[test]
    fn swapped_letters_count_as_one_edit() {
        assert_eq!(distance("dealy", "delay"), 1);
        assert_eq!(distance("", "ab"), 2);
        assert_eq!(distance("abc", "abc"), 0);
    }
}
