// Stands in for Gloo's header of this name: c10d includes it and uses nothing of it in its own headers.
#pragma once
