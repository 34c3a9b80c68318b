package versioned

import "blobio/internal/fault"

// Finding is something that Check found: an error, or a note if nothing is lost.
type Finding = fault.Finding

// findingOf is an error as a finding about a file.
func findingOf(file string, err error) Finding { return fault.Of(fault.Error, file, err) }

// wordsOf is an error as a finding with all of its words.
func wordsOf(err error) Finding {
	return Finding{Severity: fault.Error, Offset: -1, Msg: err.Error(), Err: err}
}

// noteOf is a finding of which nothing is lost.
func noteOf(file, text string) Finding {
	return Finding{Severity: fault.Note, File: file, Offset: -1, Msg: text}
}
