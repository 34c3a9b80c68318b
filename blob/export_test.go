package blob

// Tune sets what only tests set: from which mean size on ranks write themselves (0: the default), and
// whether aggregators get messages instead of shared memory.
func (o *Options) Tune(ownMin int64, messages bool) { o.ownMin, o.messages = ownMin, messages }
