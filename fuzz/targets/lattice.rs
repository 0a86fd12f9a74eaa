//! Formal contexts in files: any text is one or is refused, and as many concepts are shown as are asked for, each closed.
#![no_main]
use anthill_crawler::focus::lattice::Context;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(context) = Context::parse(text) {
        let mut shown = 0;
        context.each(64, |_| shown += 1);
        assert!(shown <= 64 && (shown > 0 || context.attributes() + context.objects() > 0));
    }
});
