use anthill_index::*;
#[test]
fn dbg() {
    let index = Index::in_memory(Settings::default()).unwrap();
    let mut w = index.writer().unwrap();
    w.put(&Document {
        key: [1; 16],
        url: "https://docs.b.test:81/guide/intro.html",
        text: "ants",
        lang: Some("en"),
        ..Default::default()
    })
    .unwrap();
    w.put(&Document {
        key: [2; 16],
        url: "https://docs.b.test:81/x.html",
        text: "ants",
        lang: Some("fr"),
        ..Default::default()
    })
    .unwrap();
    w.commit(1).unwrap();
    let s = index.searcher();
    for q in ["url:guide", "guide", "intro", "url:intro", "url:docs", "url:x", "docs", "url:\"docs b\""] {
        println!(
            "{q} {:?} {:?} {:?}",
            Query::parse(q).clauses(),
            s.statistics(&Query::parse(q), &Default::default()).unwrap(),
            s.search(&Query::parse(q), 10, 0, &Default::default())
                .unwrap()
                .hits
                .iter()
                .map(|h| h.key[0])
                .collect::<Vec<_>>()
        );
    }
}
