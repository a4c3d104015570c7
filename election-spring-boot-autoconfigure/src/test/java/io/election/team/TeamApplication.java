package io.election.team;

import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.scheduling.annotation.EnableScheduling;

/** A typical service of a team: web, JPA, its own tables, jobs, actuator. */
@SpringBootApplication
@EnableScheduling
class TeamApplication {}
