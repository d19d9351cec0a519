// parts.h - the parts of a page: text as HTML, and its sections.
#pragma once
#include "base/map.h"
#include "base/text.h"
#include "runtime/page/folder.h"
#include "runtime/report/plot.h"

// ---- html.c
// Appends text of users: what HTML reserves is escaped, control characters and those that change
// the writing direction are written out.
void gr_html(gr_text *, const char *);
// Appends a path below the page's own folder as the address of a link. It begins with ./ and all but
// letters, digits and -._~/ is percent-encoded, so that no part of a name is read as a scheme
// (javascript:), a query or a fragment.
void gr_html_address(gr_text *, const char *path);
void gr_html_cell(gr_text *, const char *kind, const char *text);  // <td class=kind>text</td>
void gr_html_number(gr_text *, double);                            // at most 4 digits after the dot
void gr_html_count(gr_text *, int64_t);                            // 1,234,567
void gr_html_bytes(gr_text *, double);                             // 24.5 MB
void gr_html_si(gr_text *, double, const char *unit);              // 1.5 GFLOP
void gr_html_seconds(gr_text *, double);                           // 3 min 20 s
void gr_html_date(gr_text *, double since_1970);                   // in UTC
void gr_html_json(gr_text *, const gr_json *);                     // a value, as people write it
// An image whose text is in the page.
void gr_html_picture(gr_text *, const gr_picture *);
// The begin of a page with its style, and its end.
void gr_html_begin(gr_text *, const char *title);
void gr_html_end(gr_text *);
// An entry of a list of facts: a name, and a value that the caller appends before the end.
void gr_html_fact(gr_text *, const char *name);
void gr_html_fact_end(gr_text *);
// The member of an object as a number or text; missing: NaN, or NULL.
double gr_html_number_of(const gr_json *object, const char *name);
const char *gr_html_text_of(const gr_json *object, const char *name);

// ---- charts.c: a figure for each value that was logged; marked: the step of the best checkpoint
void gr_page_charts(gr_text *, const gr_series_list *, double marked);
// The figure of a panel: its title and legend as text, and its curves.
void gr_page_figure(gr_text *, const gr_panel *, bool wide);

// A curve of all values of a series, or of their mean if there are many.
gr_curve gr_page_mean(gr_arena *, const gr_series *, const char *name, int colour);

// ---- sweep.c: the whole page of a sweep
struct gr_page_sweep;
void gr_page_sweep_text(gr_text *, const struct gr_page_sweep *);

// ---- sections.c
void gr_page_head(gr_text *, const gr_folder *);
void gr_page_metrics(gr_text *, const gr_folder *);
void gr_page_pictures(gr_text *, const gr_folder *);
// ---- classes.c: a row for each class, with what the last evaluation says of it
void gr_page_classes(gr_text *, const gr_folder *);
void gr_page_samples(gr_text *, const gr_folder *);
void gr_page_log(gr_text *, const gr_folder *);
// ---- setup.c
void gr_page_config(gr_text *, const gr_folder *);
void gr_page_plan(gr_text *, const gr_folder *);
void gr_page_machine(gr_text *, const gr_folder *);
