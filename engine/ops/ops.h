// All operations; each checks its arguments and dispatches to the stream's device.
#pragma once

#include "ops/activation.h"       // IWYU pragma: export
#include "ops/adamw.h"            // IWYU pragma: export
#include "ops/attention.h"        // IWYU pragma: export
#include "ops/bias_gradient.h"    // IWYU pragma: export
#include "ops/convert.h"          // IWYU pragma: export
#include "ops/cross_entropy.h"    // IWYU pragma: export
#include "ops/embedding.h"        // IWYU pragma: export
#include "ops/expert_rows.h"      // IWYU pragma: export
#include "ops/gated_activation.h" // IWYU pragma: export
#include "ops/grouped_matmul.h"   // IWYU pragma: export
#include "ops/layer_norm.h"       // IWYU pragma: export
#include "ops/matmul.h"           // IWYU pragma: export
#include "ops/reduce.h"           // IWYU pragma: export
#include "ops/rms_norm.h"         // IWYU pragma: export
#include "ops/rope.h"             // IWYU pragma: export
#include "ops/route.h"            // IWYU pragma: export
#include "ops/softcap.h"          // IWYU pragma: export
