// base.h - umbrella header of base/, which any folder may include. base/ depends only on libc.
#pragma once
#include "base/arena.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/map.h"
#include "base/port.h"
#include "base/rng.h"
#include "base/status.h"
#include "base/stop.h"
#include "base/tasks.h"
#include "base/text.h"
#include "base/work.h"
