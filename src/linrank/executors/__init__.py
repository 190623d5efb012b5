"""Where the objective is evaluated: in this thread, in several, on a cluster."""
