add_library(gr_report report.c report_files.c report_results.c)
target_link_libraries(gr_report PUBLIC gr_base)
