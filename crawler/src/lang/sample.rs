//! Which part of a text tells its language best, and cheaply?

/// Bytes from which a line is taken for running text and not for a menu entry or a heading.
const RUNNING: usize = 60;
/// Places that a sample is taken from.
const PLACES: usize = 4;
/// Bytes looked through at each place for a line of running text.
const REACH: usize = 4 << 10;

/// About `characters` characters of running text from [`PLACES`] places; of a text without such lines, its beginning.
pub(super) fn sample(text: &str, characters: usize) -> String {
    let mut sample = String::with_capacity(characters * 2);
    let each = characters / PLACES;
    let mut from = 0;
    for place in 0..PLACES {
        from = line_start(text, from.max(text.len() / PLACES * place));
        let mut wanted = each;
        let within = &text[from..];
        for line in lines_within(within, REACH) {
            let end = line.as_ptr() as usize - text.as_ptr() as usize + line.len();
            if is_running(line) {
                let piece = head(line, wanted);
                sample.push_str(piece);
                sample.push('\n');
                wanted = wanted.saturating_sub(piece.chars().count());
            }
            from = end;
            if wanted < RUNNING / 2 {
                break;
            }
        }
    }
    if sample.len() < RUNNING * 2 {
        sample.clear();
        sample.push_str(head(text, characters));
    }
    sample
}

/// Up to `count` lines of running text, spread evenly over those of the text.
pub(super) fn paragraphs(text: &str, count: usize) -> impl Iterator<Item = &str> {
    let running = || text.lines().filter(|l| is_running(l));
    let step = running().count().div_ceil(count).max(1);
    running().step_by(step)
}

/// Whether a line is prose: long, and of words more than of code and numbers.
fn is_running(line: &str) -> bool {
    if line.len() < RUNNING {
        return false;
    }
    let looked_at = head(line, 4 * RUNNING);
    let mut counts = (0usize, 0usize);
    for b in looked_at.bytes() {
        counts.0 += usize::from(b.is_ascii_alphabetic() || b >= 0x80 || b == b' ');
        counts.1 += 1;
    }
    counts.0 * 10 >= counts.1 * 9
}

/// The lines that begin in the first `reach` bytes.
fn lines_within(text: &str, reach: usize) -> impl Iterator<Item = &str> {
    let mut used = 0;
    text.split('\n').take_while(move |line| {
        let begins = used < reach;
        used += line.len() + 1;
        begins
    })
}

/// The first start of a line at or after a position.
fn line_start(text: &str, from: usize) -> usize {
    if from == 0 || text.as_bytes().get(from - 1) == Some(&b'\n') {
        return from;
    }
    memchr::memchr(b'\n', &text.as_bytes()[from.min(text.len())..]).map_or(text.len(), |at| from + at + 1)
}

/// The first `characters` characters.
fn head(text: &str, characters: usize) -> &str {
    let end = text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_taken_from_all_over_the_text() {
        let line = |c: char| format!("{}\n", format!("{c}{c}{c} ").repeat(40));
        let text: String = ['a', 'b', 'c', 'd'].into_iter().map(line).collect();
        let sample = sample(&text, 400);
        for word in ["aaa", "bbb", "ccc", "ddd"] {
            assert!(sample.contains(word), "{word} in {sample}");
        }
        assert!(sample.chars().count() < 450);
    }

    #[test]
    fn code_is_not_running_text() {
        assert!(!is_running("for (int i = 0; i < n; ++i) { total += values[i] * weights[i]; } // x"));
        assert!(is_running("The total is the sum of all the values, each multiplied by its own weight."));
    }

    #[test]
    fn one_line_without_breaks_is_sampled_too() {
        let text = "word ".repeat(10_000);
        assert!(sample(&text, 400).chars().count() >= 90);
    }
}
