// man.h - the manual page, from the same tables as the help texts.
#pragma once
#include "base/text.h"

void gr_man(gr_text *);      // appends graphrun(1) in roff
void gr_version(gr_text *);  // appends the version, and the libraries that this build has
