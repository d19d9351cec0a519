# The library that unpacks what Snappy has compressed. It is C++, so that it is loaded when it is used.
gr_module(gr_data SNAPPY snappy parquet/snappy.c)
list(REMOVE_ITEM files ${CMAKE_CURRENT_SOURCE_DIR}/parquet/snappy.c)
