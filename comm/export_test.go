package comm

// Active is the number of ranks of the run of c that neither wait in a call nor are gone.
func Active(c Comm) int64 { return c.(*member).g.w.active.Load() }
