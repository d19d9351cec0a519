# cmake -DFILE=NAME.cu -DNAME=name -DOUT=name.cu.c -P gr_embed.cmake: the text of a file as a C string.
file(READ "${FILE}" text)
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n\"" text "${text}")
file(WRITE "${OUT}" "extern const char gr_cu_${NAME}[];\nconst char gr_cu_${NAME}[] = \"${text}\";\n")
