// Package cli is what every verb of the command has: its environment, flags that mean the same everywhere, tables, JSON,
// progress, errors with a hint, pictures and files that appear when they are whole. It knows no verb.
package cli
