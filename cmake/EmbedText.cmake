# cmake -DOUT=file.cpp -DFILES=a.frit|b.frit -P EmbedText.cmake: the files as rows of name and text.
string(REPLACE "|" ";" files "${FILES}")
set(text "// Made from the files below; edit those.\n")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME)
  file(READ ${file} content)
  string(APPEND text "{\"${name}\", R\"frit(${content})frit\"},\n")
endforeach()
file(WRITE ${OUT} "${text}")
