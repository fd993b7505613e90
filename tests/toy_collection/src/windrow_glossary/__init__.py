"""The terms of a glossary behind an API, with definitions that a second service writes."""
