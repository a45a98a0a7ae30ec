//! Papers' experiments made again.

use crate::captures::Captures;
use crate::{run, told};
use serde_json::Value;
use std::fs;

#[test]
fn every_cell_stands_beside_the_published_one() {
    let folder = Captures::new();
    let command = ["papers", "wu", "--seeds", "1", "--json", "--html", "page"];
    let (code, out, err) = told(&run(&folder, &command));
    assert_eq!((code, err.as_str()), (0, "the page is page/index.html\n"));
    let document: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(
        (document["schema"].as_str(), document["seeds"].as_u64()),
        (Some("slowpath/paper/1"), Some(1))
    );
    let tables = document["tables"].as_array().expect("tables");
    let names: Vec<_> = tables.iter().filter_map(|table| table["name"].as_str()).collect();
    assert_eq!(names, ["Table III", "Table IV", "Table V", "Table VI", "Table VII"]);
    let cells: Vec<_> = tables.iter().filter_map(|table| table["cells"].as_array()).flatten().collect();
    assert_eq!(cells.len(), 4 + 12 + 6 + 18 + 8);
    assert!(cells.iter().all(|cell| cell["published"].is_number() && cell["ours"].is_number()));
    let claims = document["claims"].as_array().expect("claims");
    assert!(claims.iter().all(|claim| claim["holds"].is_boolean() && claim["place"].is_string()));
    let figures = document["figures"].as_array().expect("figures");
    let series: Vec<_> = figures.iter().filter_map(|figure| figure["series"].as_array()).flatten().collect();
    assert_eq!((figures.len(), series.len()), (9, 3 * (2 + 3 + 5)));
    assert!(
        series
            .iter()
            .all(|series| series["x"].as_array().map(Vec::len) == series["y"].as_array().map(Vec::len))
    );
    // All of it is on the page as well.
    let page = fs::read_to_string(folder.path("page/index.html")).expect("a page");
    let shows = |text: &str| page.contains(&text.replace('&', "&amp;").replace('"', "&quot;"));
    for (of, keys) in [(tables, ["name", "about"]), (figures, ["name", "seen"]), (claims, ["says", "seen"])] {
        for text in of.iter().flat_map(|one| keys.map(|key| one[key].as_str().expect("a text"))) {
            assert!(shows(text), "{text}");
        }
    }
    for run in document["runs"].as_array().expect("runs") {
        assert!(shows(run[1].as_str().expect("a command")), "{run}");
    }
    assert_eq!(page.matches("<svg").count(), figures.len());
    let fails = claims.iter().filter(|claim| claim["holds"] == false).count();
    assert_eq!(page.matches(">does not hold<").count(), fails);
    assert!(page.matches("class=\"letter\"").count() > 10, "R and Z in the plates");
}

#[test]
fn somebody_elses_folder_is_left_alone() {
    let folder = Captures::new();
    fs::create_dir(folder.path("mine")).expect("a folder");
    fs::write(folder.path("mine/index.html"), "mine").expect("a file");
    let (code, out, err) = told(&run(&folder, &["papers", "wu", "--html", "mine"]));
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(
        err.contains("mine/index.html: is no page of this command's; name another folder for --html"),
        "{err}"
    );
    assert_eq!(fs::read_to_string(folder.path("mine/index.html")).expect("a file"), "mine");
}

#[test]
fn other_papers_are_not_known() {
    let folder = Captures::new();
    let (code, out, err) = told(&run(&folder, &["papers", "reno"]));
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("[possible values: wu, weigle, leith, ubik]"), "{err}");
}
