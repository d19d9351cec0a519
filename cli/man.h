// man.h - the manual page, from the same tables as the help texts.
#pragma once
#include "base/text.h"

void gr_man(gr_text *);  // appends graphrun(1) in roff
