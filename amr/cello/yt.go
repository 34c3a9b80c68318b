package cello

// ytLists writes the block list of the yt form.
func (j *job) ytLists() error { return nil }
