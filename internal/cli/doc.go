// Package cli is shared by all verbs of the command: environment, common flags, tables, JSON, progress, errors with hints,
// pictures, and files that appear only when complete. It knows no verb.
package cli
