package versioned

import "blobio/internal/fault"

// message goes from each rank to all others when a version is committed, as JSON.
type message struct {
	Failed  bool      `json:"failed,omitempty"`
	Number  int64     `json:"number"` // of the version, and its label: all ranks pass the same
	Label   string    `json:"label,omitempty"`
	Time    int64     `json:"time"`              // of rank 0
	Changed int64     `json:"changed,omitempty"` // bytes of chunks that are new
	File    *fileInfo `json:"file,omitempty"`    // of the leader of a process
	Dead    []string  `json:"dead,omitempty"`    // files that no version needs any more
}

// differs is the error of a rank that wants another version than the first one.
func (m *message) differs(array string, rank int, first *message) error {
	if m.Number == first.Number && m.Label == first.Label {
		return nil
	}
	return fault.Usage("array %s: rank %d commits version %d %q, rank 0 %d %q", array, rank, m.Number, m.Label, first.Number, first.Label)
}
