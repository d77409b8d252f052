//! The pages of the catalogue, cut at their headings.

use std::collections::BTreeMap;

use serde::Serialize;

/// The page of a cause.
#[derive(Debug, Serialize)]
pub(super) struct Page {
    name: &'static str,
    title: &'static str,
    sections: Vec<Section>,
}

#[derive(Debug, Serialize, PartialEq)]
struct Section {
    heading: &'static str,
    /// Markdown.
    text: &'static str,
}

/// All pages by the cause's id.
pub(super) fn pages() -> BTreeMap<&'static str, Page> {
    let page = |cause: &&'static fathom_causes::Cause| {
        (cause.id, Page { name: cause.name(), title: cause.title(), sections: sections(cause.readme) })
    };
    fathom_causes::catalog().iter().map(page).collect()
}

/// What stands under each heading of the second level.
fn sections(readme: &'static str) -> Vec<Section> {
    let parts = readme.split("\n## ").skip(1);
    parts
        .map(|part| {
            let (heading, text) = part.split_once('\n').unwrap_or((part, ""));
            Section { heading: heading.trim(), text: text.trim() }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_the_headings_of_the_catalogue() {
        for (id, page) in pages() {
            let headings: Vec<&str> = page.sections.iter().map(|section| section.heading).collect();
            assert_eq!(headings.len(), 7, "{id}: {headings:?}");
            assert!(page.sections.iter().all(|section| !section.text.is_empty()), "{id}");
            assert!(!page.title.is_empty(), "{id}");
        }
    }

    #[test]
    fn text_stands_under_its_heading() {
        let found = sections("# a\n\ntitle\n\n## One\n\ntext\n### deeper\nmore\n\n## Two\nlast");
        let expected = [("One", "text\n### deeper\nmore"), ("Two", "last")];
        assert_eq!(found, expected.map(|(heading, text)| Section { heading, text }));
    }
}
