// Package openai imitates a model provider that speaks the OpenAI API.
package openai
