CREATE INDEX entities_agents ON entities (id) WHERE kind = 'agent';
