//! Colours and styles of call graphs.

use crate::flame::Kind;

/// The colours of a call graph.
pub(super) struct Look {
    /// The colours of a call's line, arrow and label, and of the label's outline.
    pub line: &'static str,
    pub arrow: &'static str,
    pub label: &'static str,
    pub around: &'static str,
    /// The colour of a box's border.
    pub edge: &'static str,
    /// The colour of a box's text, as an attribute.
    pub letters: &'static str,
    /// The background of a box, and of its filled part: for all stacks, the kernel, programs, and unknown owners.
    boxes: [(&'static str, &'static str); 4],
}

impl Look {
    pub const fn colours(&self, kind: Kind) -> (&'static str, &'static str) {
        self.boxes[match kind {
            Kind::All => 0,
            Kind::Kernel => 1,
            Kind::Program => 2,
            Kind::Unknown => 3,
        }]
    }
}

/// For white paper; boxes are light enough for dark text.
pub(super) const IN_FILE: Look = Look {
    line: "#8a8f96",
    arrow: "#5b6169",
    label: "#333a42",
    around: "#ffffff",
    edge: "#7a6a58",
    letters: "",
    boxes: [("#eeeeee", "#d0d0d0"), ("#fdf0e1", "#f6b26b"), ("#e8f1f9", "#9fc5e8"), ("#f7f7f7", "#dddddd")],
};

/// The names of the colours as CSS variables, which the page defines for its light and dark theme ([`PAGE_STYLE`]).
pub(super) const ON_PAGE: Look = Look {
    line: "var(--call)",
    arrow: "var(--arrow)",
    label: "var(--ink)",
    around: "var(--raised)",
    edge: "var(--box-edge)",
    letters: " fill=\"var(--ink)\"",
    boxes: [
        ("var(--box-all)", "var(--box-all-filled)"),
        ("var(--box-kernel)", "var(--box-kernel-filled)"),
        ("var(--box-program)", "var(--box-program-filled)"),
        ("var(--box-unknown)", "var(--box-unknown-filled)"),
    ],
};

/// The CSS that a page needs once for all its graphs, in addition to the report's variables.
pub const PAGE_STYLE: &str = "\
:root{--call:#8a8f96;--arrow:#5b6169;--box-edge:#7a6a58;--box-all:#eeeeee;--box-all-filled:#d0d0d0;--box-kernel:#fdf0e1;\
--box-kernel-filled:#f6b26b;--box-program:#e8f1f9;--box-program-filled:#9fc5e8;--box-unknown:#f7f7f7;--box-unknown-filled:#dddddd}
@media (prefers-color-scheme:dark){:root{--call:#6d747d;--arrow:#9aa3ac;--box-edge:#8a7862;--box-all:#2a2e33;\
--box-all-filled:#454b52;--box-kernel:#2f2920;--box-kernel-filled:#6e4a1c;--box-program:#1f2932;--box-program-filled:#28506e;\
--box-unknown:#24282c;--box-unknown-filled:#3a4047}}
.layers{display:block;margin:0 auto}
";
